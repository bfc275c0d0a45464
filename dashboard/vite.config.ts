import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Where a server to develop against listens: `SKEP_SERVER=http://127.0.0.1:7700 npx vite`. */
const server = process.env['SKEP_SERVER'] ?? 'http://127.0.0.1:7700'

export default defineConfig({
  root: here('.'),
  // Where the dashboard is mounted is known only at run time: the server writes it into index.html.
  base: './',
  // Every element is made by src/jsx, which makes text from users harmless.
  plugins: [react({ jsxImportSource: '#jsx' })],
  build: {
    outDir: here('../dist/dashboard'),
    emptyOutDir: true,
    target: 'es2022',
    // A data address in a style sheet or an inline script would ask for a weaker content policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  server: { proxy: { '/api': server } },
})
