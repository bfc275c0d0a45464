import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codePages, headingsOf, type Page, pages, readPage, root } from './markdown.ts'

const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g

/** The name GitHub gives to a heading. */
function anchorOf(heading: string): string {
  return heading
    .replace(/^#+ /, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

const { repository } = JSON.parse(readPage('package.json').text) as { repository: { url: string } }
/** How links to files of the repository begin that are not in the package. */
const HOME = new RegExp(`^${repository.url.slice('git+'.length, -'.git'.length)}/(?:blob|tree)/main/`)

function faultOf(page: Page, link: string): string | null {
  const isOurs = HOME.test(link)
  if (/^(https?|mailto):/.test(link) && !isOurs) {
    return link.includes('/skep/blob/') || link.includes('/skep/tree/')
      ? `${page.path}: ${link} is not at the home in package.json`
      : null
  }
  const [path = '', anchor] = link.replace(HOME, '').split('#')
  const target = isOurs ? path : path === '' ? page.path : join(dirname(page.path), path)
  if (!existsSync(join(root, target))) return `${page.path}: ${link} leads nowhere`
  if (anchor === undefined || statSync(join(root, target)).isDirectory()) return null
  const known = headingsOf(readPage(target)).map(anchorOf)
  return known.includes(anchor) ? null : `${page.path}: ${link} names no heading`
}

describe('links', () => {
  it('lead to files and headings that exist', () => {
    const faults = [...pages(), ...codePages()].flatMap((page) =>
      [...page.text.matchAll(LINK)].map(([, link]) => faultOf(page, link as string)),
    )

    expect(faults.filter((fault) => fault !== null)).toEqual([])
  })

  it('name files of the repository that exist', () => {
    const named = [readPage('ARCHITECTURE.md'), ...codePages()].flatMap((page) =>
      [...page.text.matchAll(/`((?:src|test|scripts|docs|examples|bench|dashboard)\/[\w./-]+)`/g)].map(
        ([, path]) => ({
          at: page.path,
          path: path as string,
        }),
      ),
    )

    expect(named.length).toBeGreaterThan(100)
    const exists = (path: string): boolean => existsSync(join(root, path))
    expect(named.filter(({ at, path }) => !exists(path) && !exists(join(dirname(at), path)))).toEqual([])
  })

  it('name files beside the page that exist', () => {
    const named = codePages().flatMap((page) =>
      [...page.text.matchAll(/^\| (`[\w./-]+\.ts`[^|]*) \|/gm)]
        .flatMap(([, cell]) => [...(cell as string).matchAll(/`([\w./-]+\.ts)`/g)])
        .map(([, name]) => join(dirname(page.path), name as string)),
    )

    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})
