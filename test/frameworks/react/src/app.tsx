import { DealGrid, RoundUp, WhereToBuy } from '@vitrine/embed/react'
import { useState } from 'react'

const vitrine = { server: import.meta.env['VITRINE_SERVER'], channel: import.meta.env['VITRINE_CHANNEL'] }

export function App() {
  const [gtin, setGtin] = useState('09520001001024')
  return (
    <main>
      <button onClick={() => setGtin('09520001001031')}>Other product</button>
      <WhereToBuy {...vitrine} gtin={gtin} height={700} style={{ display: 'block', minHeight: 700 }}>
        <a href={`/prices/${gtin}`}>Prices of {gtin}</a>
      </WhereToBuy>
      <p data-still>The text below the box</p>
      <RoundUp
        {...vitrine}
        gtins="09520001001024,09520001001031"
        theme="dark"
        label="Best overall"
        height={900}
        style={{ display: 'block', minHeight: 900 }}
      >
        <a href="/round-up">Our picks</a>
      </RoundUp>
      <DealGrid {...vitrine} min_discount={5} limit={4}>
        <a href="/deals">Deals</a>
      </DealGrid>
    </main>
  )
}
