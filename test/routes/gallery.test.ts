import request from 'supertest'
import { describe, expect, test } from 'vitest'
import { startHarness } from '../app/app-client.ts'

const SETTINGS = { VITRINE_ADMIN_PASSWORD: 'correct-horse' }
const ADMIN = ['admin', 'correct-horse'] as const

describe('/studio/gallery', () => {
  test('gallery - is not stored, and has the policy of the studio', async () => {
    const { app } = await startHarness({ settings: SETTINGS })
    const received = await request(app)
      .get('/studio/gallery?layout=deals-carousel')
      .auth(...ADMIN)
    expect(received.status).toBe(200)
    expect(received.headers['cache-control']).toBe('no-store')
    expect(received.headers['content-security-policy']).toContain("script-src 'self'")
    expect(received.text).toContain('data-layout="carousel"')
    expect(received.text).not.toContain('data-layout="table"')
  })

  test('pictures - photographs, a logo, an empty file, and nothing else', async () => {
    const { app } = await startHarness({ settings: SETTINGS })
    const get = (name: string): request.Test =>
      request(app)
        .get(`/studio/gallery/pictures/${name}`)
        .auth(...ADMIN)
        .buffer(true)
    const square = await get('square.webp')
    expect(square.headers['content-type']).toBe('image/webp')
    expect(String(square.body)).toContain('WEBP')
    const logo = await get('logo.svg')
    expect(logo.headers['content-type']).toBe('image/svg+xml')
    expect(String(logo.body)).toContain('<svg')
    const broken = await get('broken.svg')
    expect([broken.status, String(broken.body)]).toEqual([200, ''])
    expect((await get('other.webp')).status).toBe(404)
    expect((await get('__proto__')).status).toBe(404)
  })

  test('without an admin password and not a local demo - 404', async () => {
    const { app } = await startHarness()
    for (const path of ['/studio/gallery', '/studio/gallery/pictures/square.webp'])
      expect((await request(app).get(path)).status).toBe(404)
  })
})
