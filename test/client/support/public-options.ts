/** Finds in the types of the public entries every function and method that takes an object of options. */
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const ENTRIES = ['index', 'memory', 'sqlite', 'postgres', 'redis', 'nats', 'otel', 'server', 'testing']
/** What adapters implement, and what is handed to handlers of errors: no options, but contracts and facts. */
const CONTRACTS = new Set([
  'Store',
  'StoreInTransaction',
  'Runtime',
  'Notifier',
  'Notices',
  'RecordStore',
  'ScheduleStore',
])

/** `queue`, `new ServerClient`, `Skep.enqueue`: functions, constructors and methods, of all types that can be reached from them. */
export function publicCallsWithOptions(): string[] {
  const read = ts.readConfigFile(`${root}tsconfig.base.json`, ts.sys.readFile).config
  const { options } = ts.convertCompilerOptionsFromJson(read.compilerOptions, root)
  const files = ENTRIES.map((name) => `${root}src/${name}.ts`)
  const program = ts.createProgram(files, { ...options, noEmit: true })
  const checker = program.getTypeChecker()
  const found = new Set<string>()
  const seen = new Set<ts.Symbol>()

  const visitCall = (name: string, call: ts.Signature): void => {
    if (!isOurs(call.declaration)) return
    if (call.parameters.some(takesOptions)) found.add(name)
    visitType(call.getReturnType())
  }

  const visitType = (type: ts.Type): void => {
    if (type.isUnionOrIntersection()) for (const one of type.types) visitType(one)
    if ((type.flags & ts.TypeFlags.Object) === 0) return
    for (const argument of checker.getTypeArguments(type as ts.TypeReference)) visitType(argument)
    const { symbol } = type
    if (symbol === undefined || seen.has(symbol) || CONTRACTS.has(symbol.name)) return
    seen.add(symbol)
    if (!isOurs(symbol.declarations?.[0])) return
    for (const property of checker.getPropertiesOfType(type)) {
      const declaration = property.declarations?.[0]
      if (declaration === undefined || !isOurs(declaration) || isHidden(declaration)) continue
      const of = checker.getTypeOfSymbol(property)
      const calls = of.getCallSignatures()
      for (const call of calls) visitCall(`${symbol.name}.${property.name}`, call)
      if (calls.length === 0) visitType(of)
    }
  }

  for (const file of files) {
    const source = program.getSourceFile(file)
    const module = source && checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${file} has no exports.`)
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      if ((symbol.flags & ts.SymbolFlags.Value) === 0) continue
      const type = checker.getTypeOfSymbol(symbol)
      for (const call of type.getCallSignatures()) visitCall(exported.name, call)
      for (const call of type.getConstructSignatures()) visitCall(`new ${exported.name}`, call)
    }
  }
  return [...found].sort((a, b) => (a < b ? -1 : 1))
}

function isOurs(declaration: ts.Node | undefined): boolean {
  return declaration?.getSourceFile().fileName.startsWith(`${root}src/`) === true
}

function isHidden(declaration: ts.Declaration): boolean {
  const name = ts.getNameOfDeclaration(declaration)
  if (name !== undefined && ts.isPrivateIdentifier(name)) return true
  const flags = ts.getCombinedModifierFlags(declaration)
  return (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0
}

/** By its name or by its type: `options`, `…Options`, `…Fields`, or an object type that is written at the parameter. */
function takesOptions({ valueDeclaration: parameter }: ts.Symbol): boolean {
  if (parameter === undefined || !ts.isParameter(parameter) || parameter.type === undefined) return false
  if (parameter.name.getText() === 'options' || ts.isTypeLiteralNode(parameter.type)) return true
  return (
    ts.isTypeReferenceNode(parameter.type) && /(?:Options|Fields)$/.test(parameter.type.typeName.getText())
  )
}
