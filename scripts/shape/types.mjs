// How wide the contracts are and which type names repeat, by the JavaScript API of the compiler.

import { join } from 'node:path'
import ts from 'typescript'
import { libraryFiles } from './files.mjs'

/** @typedef {import('../shape.mjs').Row} Row */

const MOST_REPEATED = 10

/** @param {string} root @returns {Row[]} */
export function contractRows(root) {
  const entry = join(root, 'src/index.ts')
  const program = ts.createProgram([entry], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
  })
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(entry)
  const module = file && checker.getSymbolAtLocation(file)
  if (!module) throw new Error(`${entry} is not a module.`)
  const names = checker.getExportsOfModule(module)

  /** @param {string} name */
  const declared = (name) => {
    const symbol = names.find((one) => one.name === name)
    return symbol && checker.getDeclaredTypeOfSymbol(target(symbol, checker))
  }
  const store = methodsOf(declared('Store'), checker)
  const skep = declared('Skep')
  const isValue = names.map((symbol) => !isTypeOnly(symbol) && isValueSymbol(target(symbol, checker)))
  return [
    { name: 'operations of Store: required', value: store.filter(({ isOptional }) => !isOptional).length },
    { name: 'operations of Store: optional', value: store.filter(({ isOptional }) => isOptional).length },
    { name: 'exports of src/index.ts: values', value: isValue.filter((value) => value).length },
    { name: 'exports of src/index.ts: types', value: isValue.filter((value) => !value).length },
    { name: 'public members of Skep', value: skep ? publicMembers(skep).length : null },
    // A regrouping moves members into parts such as `skep.schedules`; this number shows whether any were dropped.
    { name: 'methods of Skep and its parts', value: skep ? methodsOf(skep, checker).length : null },
  ]
}

/** @param {string} root @returns {Row[]} */
export function repeatedNameRows(root) {
  /** @type {Map<string, Set<string>>} */
  const files = new Map()
  for (const { path, text } of libraryFiles(root)) {
    /** @param {import('typescript').Node} node */
    const visit = (node) => {
      if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)) {
        const name = node.name?.text ?? 'default'
        files.set(name, (files.get(name) ?? new Set()).add(path))
      }
      ts.forEachChild(node, visit)
    }
    visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest))
  }
  const repeated = [...files]
    .map(([name, paths]) => ({ name, count: paths.size }))
    .filter(({ count }) => count > 1)
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
  return [
    { name: 'type names in more than one file', value: repeated.length },
    ...Array.from({ length: MOST_REPEATED }, (_, index) => {
      const found = repeated[index]
      return { name: `  no. ${index + 1}`, value: found ? `${found.name}, ${found.count} files` : null }
    }),
  ]
}

/**
 * The methods of a type, inherited ones too, and those of its parts: of members that are objects declared in src.
 *
 * @param {import('typescript').Type | undefined} type
 * @param {import('typescript').TypeChecker} checker
 * @param {Set<import('typescript').Type>} [seen]
 * @returns {{ isOptional: boolean }[]}
 */
function methodsOf(type, checker, seen = new Set()) {
  if (type === undefined || seen.has(type)) return []
  seen.add(type)
  return publicMembers(type).flatMap((member) => {
    const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0
    const inner = checker.getNonNullableType(checker.getTypeOfSymbol(member))
    if (inner.getCallSignatures().length > 0) return [{ isOptional }]
    const isOurs = inner.symbol?.declarations?.some((declaration) => {
      const path = declaration.getSourceFile().fileName
      return path.includes('/src/') && !path.includes('/node_modules/')
    })
    return isOurs ? methodsOf(inner, checker, seen) : []
  })
}

/** @param {import('typescript').Type} type */
function publicMembers(type) {
  return type.getProperties().filter((member) => {
    const declaration = member.valueDeclaration
    if (declaration === undefined) return true
    const name = ts.getNameOfDeclaration(declaration)
    const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected
    return !(name && ts.isPrivateIdentifier(name)) && !(ts.getCombinedModifierFlags(declaration) & hidden)
  })
}

/**
 * What an exported name stands for in the file that declares it.
 *
 * @param {import('typescript').Symbol} symbol
 * @param {import('typescript').TypeChecker} checker
 */
function target(symbol, checker) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

/** @param {import('typescript').Symbol} symbol */
function isValueSymbol(symbol) {
  return (symbol.flags & ts.SymbolFlags.Value) !== 0
}

/** @param {import('typescript').Symbol} symbol `export type { A }` and `export { type A }`. */
function isTypeOnly(symbol) {
  const specifier = symbol.declarations?.find(ts.isExportSpecifier)
  return specifier !== undefined && (specifier.isTypeOnly || specifier.parent.parent.isTypeOnly)
}
