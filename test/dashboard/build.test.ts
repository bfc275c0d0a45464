import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

const folder = new URL('../../dist/dashboard/', import.meta.url).pathname
const html = readFileSync(join(folder, 'index.html'), 'utf8')
const assets = readdirSync(join(folder, 'assets'))
const zippedBytes = (name: string): number => gzipSync(readFileSync(join(folder, 'assets', name))).byteLength

/** What a browser needs before anything is shown: what the page names, and nothing that is loaded later. */
const first = assets.filter((name) => html.includes(`assets/${name}`))

describe('The built dashboard', () => {
  it('is under 200 KB zipped before anything is loaded later', () => {
    expect(first.some((name) => name.endsWith('.js'))).toBe(true)
    expect(first.some((name) => name.endsWith('.css'))).toBe(true)
    const bytes = first.map(zippedBytes).reduce((sum, size) => sum + size, 0)
    expect(bytes).toBeLessThan(200_000)
  })

  it('has no inline script, style or handler, which its content policy would forbid', () => {
    expect(html).not.toMatch(/<style|style=|\son\w+=|javascript:/i)
    expect(
      [...html.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)].every(([, , body]) => body?.trim() === ''),
    ).toBe(true)
  })

  it('names its files relatively, so that it works under every path', () => {
    const addresses = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address as string)
    expect(addresses.length).toBeGreaterThan(2)
    for (const address of addresses) expect(address).toMatch(/^\.\//)
  })

  it('asks nobody else for anything', () => {
    for (const name of assets.filter((each) => each.endsWith('.css'))) {
      expect(readFileSync(join(folder, 'assets', name), 'utf8')).not.toMatch(/url\(\s*["']?(?:https?:)?\/\//)
    }
    expect(html).not.toMatch(/https?:\/\//)
  })

  it('brings no source maps and no sources', () => {
    expect(assets.filter((name) => /\.(map|tsx?)$/.test(name))).toEqual([])
  })
})
