import { DealGrid, WhereToBuy } from '@vitrine/embed/react'

const vitrine = { server: 'https://widgets.example', channel: '952a0000-0000-4000-8000-000000000001' }

export function Prices({ gtin }: { gtin: string }) {
  return (
    <>
      <WhereToBuy {...vitrine} gtin={gtin} height={534}>
        <a href={`/prices/${gtin}`}>Compare prices</a>
      </WhereToBuy>
      <DealGrid {...vitrine} min_discount={20} />
    </>
  )
}
