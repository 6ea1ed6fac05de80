import { fetchFragment } from '@vitrine/embed/fragment'

const html = await fetchFragment('where-to-buy', {
  server: 'https://widgets.example',
  channel: '952a0000-0000-4000-8000-000000000001',
  gtin: '09520001001024',
})
