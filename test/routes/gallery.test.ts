import request from 'supertest'
import { describe, expect, test } from 'vitest'
import { startHarness } from '../app/app-client.ts'

const SETTINGS = { VITRINE_ADMIN_PASSWORD: 'correct-horse' }
const ADMIN = ['admin', 'correct-horse'] as const

describe('/studio/gallery', () => {
  test('a page of its own - kept by nobody, with the policy of the studio', async () => {
    const { app } = await startHarness({ settings: SETTINGS })
    const answer = await request(app)
      .get('/studio/gallery?layout=deals-carousel')
      .auth(...ADMIN)
    expect(answer.status).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['content-security-policy']).toContain("script-src 'self'")
    expect(answer.text).toContain('data-layout="carousel"')
    expect(answer.text).not.toContain('data-layout="table"')
  })

  test('pictures - drawn ones, one that is none, and nothing else', async () => {
    const { app } = await startHarness({ settings: SETTINGS })
    const get = (name: string): request.Test =>
      request(app)
        .get(`/studio/gallery/pictures/${name}`)
        .auth(...ADMIN)
        .buffer(true)
    const square = await get('square.svg')
    expect(square.headers['content-type']).toBe('image/svg+xml; charset=utf-8')
    expect(String(square.body)).toContain('<svg')
    const broken = await get('broken.svg')
    expect([broken.status, String(broken.body)]).toEqual([200, ''])
    expect((await get('other.svg')).status).toBe(404)
    expect((await get('__proto__')).status).toBe(404)
  })

  test('closed without an admin password when it is no local demonstration', async () => {
    const { app } = await startHarness()
    for (const path of ['/studio/gallery', '/studio/gallery/pictures/square.svg'])
      expect((await request(app).get(path)).status).toBe(404)
  })
})
