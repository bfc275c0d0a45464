import { createRoot } from 'react-dom/client'
import { startLive } from './api/live.ts'
import { App } from './app.tsx'
import { applyDensity } from './shell/density.ts'
import { applyTheme } from './shell/theme.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/ui.css'
import './styles/screens.css'
import './styles/tools.css'

applyTheme()
applyDensity()
startLive()
createRoot(document.getElementById('root') as HTMLElement).render(<App />)
