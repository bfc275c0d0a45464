import type { ReactNode } from 'react'
import { useApi } from '../../api/query.ts'
import { Page } from '../../shell/page.tsx'
import { Figure } from '../../ui/card.tsx'
import { Count } from '../../ui/count.tsx'
import { Loaded } from '../../ui/states-of-page.tsx'

export function OverviewScreen(): ReactNode {
  const overview = useApi('overview.get', {})
  return (
    <Page title="Overview" name="Overview">
      <Loaded asked={overview}>
        {({ totals }) => (
          <div className="figures">
            <Figure label="Ready">
              <Count value={totals.ready} />
            </Figure>
          </div>
        )}
      </Loaded>
    </Page>
  )
}
