// The names in code of a page: options and fields in its spans, events where it speaks of events; and the names that the sources have.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { type Page, root } from './markdown.ts'
import { type Code, cellsOf, paragraphsOf, proseOf, quotedIn } from './names.ts'

/** A name, and where it is written. */
export interface Named {
  readonly at: string
  readonly name: string
}

/** Spans between backticks, also those that go on in the next line. */
export function wholeSpansOf(page: Page): Code[] {
  return paragraphsOf(page).flatMap(({ at, line }) => quotedIn(line).map((text) => ({ at, text })))
}

/** The properties of the objects in a span: of `name: value`, of `{ name, other: value }` and of `call(queue, { name })`. */
export function propertiesIn(text: string): string[] {
  return objectsIn(text).flatMap(({ names }) => names)
}

/** The options that a cell of a table is about: those outside of all other options. */
export function outermostIn(text: string): readonly string[] {
  return /^[\w.]+$/.test(text) ? [text.split('.')[0] as string] : (objectsIn(text)[0]?.names ?? [])
}

/** Each object in a span with the names of its properties, the outermost first. */
function objectsIn(text: string): { readonly names: readonly string[] }[] {
  // `name: value` and `name:`, but no `state:ready`, which is a query, and no address.
  const isProperty = /^[a-z]\w*:(?: |$)/.test(text)
  if (!isProperty && !/\{ [\w'"…]/.test(text)) return []
  const whole = isProperty ? `{ ${text.replace(/:$/, ': …')} }` : text
  // What is left out is a value, or ends a list.
  const code = whole.replaceAll(/: *…/g, ': 0').replaceAll(/,? *…/g, '')
  const objects: { names: string[] }[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node)) {
      objects.push({
        names: node.properties.flatMap(({ name }) => (name && ts.isIdentifier(name) ? [name.text] : [])),
      })
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('span.ts', `(${code})`, ts.ScriptTarget.Latest))
  // What is no TypeScript, such as the value of a header, has one name.
  return isProperty
    ? objects.map(({ names }, n) => ({ names: n === 0 ? names.slice(0, 1) : names }))
    : objects
}

/** Properties of objects in the prose and the tables of a page that are not known. */
export function unknownProperties(page: Page, isKnown: (name: string) => boolean): Named[] {
  return wholeSpansOf(page).flatMap(({ at, text }) =>
    propertiesIn(text)
      .filter((name) => !isKnown(name))
      .map((name) => ({ at, name })),
  )
}

/** Names of several words, such as `enqueueTimeout`, that are not known. */
export function unknownIdentifiers(page: Page, isKnown: (name: string) => boolean): Named[] {
  return wholeSpansOf(page)
    .filter(({ text }) => /^[a-z]+[A-Z]\w*$/.test(text) && !isKnown(text))
    .map(({ at, text }) => ({ at, name: text }))
}

/** What is called an event: in skep.on(), in "`dead` and `lost` events" and "the events `dead` and `lost`", and in columns of events. */
export function eventsNamedIn(page: Page): Named[] {
  const list = '`\\w+`(?:(?:,| and| or|, and|, or) `\\w+`)*'
  const phrase = new RegExp(`(${list}) events?\\b|\\bevents?:? (${list})`, 'g')
  const listened = page.lines.flatMap((line, index) =>
    [...line.matchAll(/\bskep\.on\(\s*['"`](\w+)['"`]/g)].map(([, name]) => ({
      at: `${page.path}:${index + 1}`,
      name: name as string,
    })),
  )
  const told = paragraphsOf(page).flatMap(({ at, line }) =>
    [...line.matchAll(phrase)].flatMap(([, before, after]) =>
      quotedIn((before ?? after) as string).map((name) => ({ at, name })),
    ),
  )
  const listed = columnsOf(page, /^Events?$/).flatMap(({ at, cells }) =>
    cells.flatMap(quotedIn).map((name) => ({ at, name })),
  )
  return [...listened, ...told, ...listed]
}

/** The cells of every column whose heading fits, table by table. */
export function columnsOf(page: Page, heading: RegExp): { readonly at: string; readonly cells: string[] }[] {
  const rows = proseOf(page).filter(({ line }) => line.startsWith('|'))
  const lineOf = (at: string): number => Number(at.split(':').at(-1))
  const columns: { at: string; cells: string[] }[] = []
  let open: { column: number; cells: string[] }[] = []
  for (const [index, { at, line }] of rows.entries()) {
    const before = rows[index - 1]
    if (before === undefined || lineOf(before.at) !== lineOf(at) - 1) {
      const found = cellsOf(line).flatMap((cell, column) => (heading.test(cell) ? [column] : []))
      open = found.map((column) => ({ column, cells: [] }))
      for (const { cells } of open) columns.push({ at, cells })
    } else if (!/^\|[\s:|-]+$/.test(line)) {
      for (const { column, cells } of open) cells.push(cellsOf(line)[column] ?? '')
    }
  }
  return columns
}

/** What the sources export: functions and values, and the members of types and classes. */
export function exportedNames(): ReadonlySet<string> {
  const names = new Set<string>()
  const add = (name: ts.Node | undefined): void => {
    if (name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name))) names.add(name.text)
  }
  const visitType = (node: ts.Node): void => {
    if (ts.isPropertySignature(node) || ts.isMethodSignature(node)) add(node.name)
    ts.forEachChild(node, visitType)
  }
  for (const statement of sources().flatMap((source) => source.statements)) {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) continue
    if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)) visitType(statement)
    else if (ts.isClassDeclaration(statement)) for (const { name } of statement.members) add(name)
    else if (ts.isFunctionDeclaration(statement)) add(statement.name)
    else if (ts.isVariableStatement(statement))
      for (const { name } of statement.declarationList.declarations) add(name)
  }
  return names
}

/** Every identifier in the sources, also the inner ones. */
export function everyIdentifier(): ReadonlySet<string> {
  return new Set(sources().flatMap(({ text }) => text.match(/\b[a-z]+[A-Z]\w*/g) ?? []))
}

let read: readonly ts.SourceFile[] | null = null

function sources(): readonly ts.SourceFile[] {
  read ??= readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) =>
      ts.createSourceFile(name, readFileSync(join(root, 'src', name), 'utf8'), ts.ScriptTarget.Latest),
    )
  return read
}
