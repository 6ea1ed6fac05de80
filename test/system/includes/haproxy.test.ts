import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type Keeper,
  type See,
  type Subject,
  itIsAsTheTableSays,
  itKeepsAsTheTableSays,
  itKeepsVisitorsOut,
} from './cases.ts'
import { startHttps } from './https-front.ts'
import { itHandsOnFragmentsOnly } from './outside.ts'
import type { PageLane } from './gate.ts'
import { type Place, openPlace } from './place.ts'
import { describeWithProgram, findFreePort, findProgram, startProgram } from './program.ts'
import { type Substitution, readRecipe } from './recipe.ts'
import { PATIENCE_MS, judgeBox } from './sight.ts'

const HEADING = 'HAProxy error filter'
const SERVER_LINE = '  server vitrine 127.0.0.1:3000\n'

describeWithProgram('haproxy', HEADING, () => {
  let place: Place
  let origin: string
  beforeAll(async () => {
    place = await openPlace()
    origin = await start(place, ['127.0.0.1:3000', `127.0.0.1:${place.gate.port}`])
  })
  afterAll(() => place.dispose())

  const addPage = (lane?: PageLane): See => {
    const url = `${origin}${place.path}?page=${lane?.name ?? place.nextName()}`
    return async (headers = {}) => {
      const signal = lane?.patience() ?? AbortSignal.timeout(PATIENCE_MS)
      const answer = await fetch(url, { headers, signal })
      return answer.status === 200 ? judgeBox(await answer.text()) : 'error text'
    }
  }
  const subject: Subject = { place: () => place, open: (lane) => addPage(lane)() }
  const keeper: Keeper = {
    isSettledAtOnce: true,
    place: () => place,
    open: (lane) => Promise.resolve(addPage(lane)),
  }

  itIsAsTheTableSays(HEADING, subject)
  itKeepsAsTheTableSays(HEADING, keeper)
  itKeepsVisitorsOut(HEADING, keeper)
  // Its refusal is what its every failure is: empty.
  itHandsOnFragmentsOnly(HEADING, { gate: () => place.gate, base: () => origin, statuses: [200] })

  it.each(['500', 'reset', 'down', 'hang'] as const)(
    '%s - the empty answer - is one that nobody keeps',
    async (mode) => {
      // The consumer's connection has carried an answer of HAProxy's own before: then it may be closed in place of one.
      await place.gate.setMode('500')
      await (await fetch(`${origin}${place.path}`)).text()
      await place.gate.setMode(mode)
      const { headers } = await fetch(`${origin}${place.path}?page=${place.nextName()}`)
      expect(headers.get('cache-control')).toBe('no-store')
    },
  )

  it('a box - asked for twice - is fetched once', async () => {
    place.gate.setMaxAge(null)
    await place.gate.setMode('shown')
    const see = addPage()
    const before = place.gate.requests.length
    expect([await see(), await see()]).toEqual(['box', 'box'])
    expect(place.gate.requests.length - before).toBe(1)
  })

  it.skipIf(findProgram('openssl') === undefined)(
    'a server over https - is bridged for who speaks http',
    async () => {
      await place.gate.setMode('shown')
      const bridge = place.keep(await startHttps(place))
      const line = readRecipe({ heading: HEADING, language: 'haproxy', index: 1 }, [
        ['widgets.example:443', `localhost:${bridge.port}`],
        ['/etc/ssl/certs/ca-certificates.crt', bridge.certificate],
      ])
      const url = `${await start(place, [SERVER_LINE, line])}${place.path}`
      expect(judgeBox(await (await fetch(url)).text())).toBe('box')
    },
  )

  it('a server whose name is not known - does not keep it from starting', async () => {
    const line = readRecipe({ heading: HEADING, language: 'haproxy', index: 1 }, [
      ['widgets.example:443', 'widgets.invalid:443'],
    ])
    const answer = await fetch(`${await start(place, [SERVER_LINE, line])}${place.path}`)
    expect([answer.status, await answer.text()]).toEqual([200, ''])
  })
})

async function start(place: Place, server: Substitution): Promise<string> {
  const port = await findFreePort()
  const folder = join(place.folder, place.nextName())
  await mkdir(folder)
  const none = join(folder, 'none.http')
  await writeFile(none, readRecipe({ heading: HEADING, language: 'http' }).replaceAll('\n', '\r\n'))
  const config = readRecipe({ heading: HEADING, language: 'haproxy' }, [
    ['127.0.0.1:8081', `127.0.0.1:${port}`],
    ['/etc/haproxy/none.http', none],
    server,
  ])
  await writeFile(join(folder, 'haproxy.cfg'), config)
  place.keep(
    await startProgram({ command: 'haproxy', args: ['-db', '-f', join(folder, 'haproxy.cfg')], port }),
  )
  return `http://127.0.0.1:${port}`
}
