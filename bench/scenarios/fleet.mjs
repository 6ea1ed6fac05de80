import { CELL, CELLS, FRONTS, LIMITS, ONE_CHANNEL, PORTAL, SMALL } from '../simulation/plans.mjs'

const MINUTE_S = 60
const HOUR_S = 3_600

/** Whole plans, simulated: what reaches whom, what is called, and how old prices are. */
export const fleet = {
  name: 'fleet',
  about: 'plans of views, products and calls, simulated (no server runs)',
  page: 'docs/sizing.md',
  isSimulated: true,
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    // The built program is there by now: its rules are what is simulated.
    const { computeNeededLimit, simulateCell } = await import('../simulation/fleet.mjs')
    const { divideLimit } = await import('../simulation/rules.mjs')
    const simulate = async (name, plan) => {
      run.say(`  ${name}`)
      return simulateCell(plan)
    }
    const cell = await simulate('a cell of the billion', CELL)
    const plans = {
      'small publisher': await simulate('small publisher', SMALL),
      'price portal': await simulate('price portal', PORTAL),
      'a cell of the billion': cell,
      'one channel with all': await simulate('one channel with all', ONE_CHANNEL),
    }
    const fronts = { 'as planned': cell }
    for (const [name, change] of Object.entries(FRONTS))
      fronts[name] = await simulate(name, { ...CELL, ...change })
    const limits = [cell]
    for (const dailyLimit of LIMITS)
      limits.push(await simulate(`a limit of ${dailyLimit.toLocaleString('en')}`, { ...CELL, dailyLimit }))
    return {
      tables: [toPlanTable(plans, computeNeededLimit), toFrontTable(fronts), toLimitTable(limits)],
      promises: limits.slice(1).map((found) => judgeBudget(found, divideLimit)),
      notes: [
        `The billion is ${CELLS} such cells. Made from a seed: every run gives the same figures; other seeds differ by two or three percent.`,
      ],
      rounds: { plans, fronts, limits },
    }
  },
}

/**
 * The plans of the simulation, a row for each figure.
 * @param {Record<string, Awaited<ReturnType<typeof import('../simulation/fleet.mjs').simulateCell>>>} plans
 * @param {(calls: object) => number} computeNeededLimit
 */
export function toPlanTable(plans, computeNeededLimit) {
  const found = Object.values(plans)
  const row = (name, toText) => [name, ...found.map(toText)]
  return {
    title: 'Plans over a day, without a daily limit',
    columns: ['', ...Object.keys(plans)],
    rows: [
      row('views a day', ({ plan }) => formatCount(plan.viewsPerDay)),
      row('products, of all its channels', ({ plan }) => formatCount(plan.products)),
      row('channels', ({ plan }) => formatCount(plan.channels)),
      row('points of presence, and a shield', ({ plan }) => (plan.points === 0 ? 'no CDN' : plan.points)),
      row('views that no replica is asked for', ({ offload }) => formatShare(offload)),
      row('requests/s at the replicas, mean', ({ originPerSecond }) => formatRate(originPerSecond)),
      row('in the busiest hour', ({ originPeakPerSecond }) => formatRate(originPeakPerSecond)),
      row('of them warm in memory', ({ hotShare }) => formatShare(hotShare)),
      row('reads of the copy/s', ({ readsPerSecond }) => formatRate(readsPerSecond)),
      row('refreshes a day', ({ calls }) => formatCount(calls.refresh)),
      row('calls of walks a day', ({ calls }) => formatCount(calls.walk)),
      row('walks a day', ({ walksPerDay }) => walksPerDay.toFixed(1)),
      row('daily limit that holds it all', ({ calls }) => formatCount(computeNeededLimit(calls))),
      ...toAgeRows(row),
    ],
  }
}

function toAgeRows(row) {
  return [
    row('mean age of a price, minutes', ({ meanAgeS }) => formatMinutes(meanAgeS)),
    row('views with a price older than 5 minutes', ({ olderShares }) => formatShare(olderShares[300])),
    row('older than an hour', ({ olderShares }) => formatShare(olderShares[HOUR_S])),
  ]
}

function toFrontTable(fronts) {
  return {
    title: 'The same cell with other fronts and other readers',
    columns: [
      '',
      'no replica asked',
      'requests/s',
      'busiest hour',
      'refreshes a day',
      'mean age, minutes',
      'older than 5 minutes',
    ],
    rows: Object.entries(fronts).map(([name, found]) => [
      name,
      formatShare(found.offload),
      formatRate(found.originPerSecond),
      formatRate(found.originPeakPerSecond),
      formatCount(found.calls.refresh),
      formatMinutes(found.meanAgeS),
      formatShare(found.olderShares[300]),
    ]),
  }
}

function toLimitTable(limits) {
  return {
    title: 'The same cell with smaller daily limits',
    columns: [
      'daily limit',
      'walks a day',
      'refreshes a day',
      'refreshes last until',
      'mean age, minutes',
      'older than 5 minutes',
      'an hour',
      'a day: no price shown',
    ],
    rows: limits.map((found) => [
      found.plan.dailyLimit === null ? 'none' : formatCount(found.plan.dailyLimit),
      found.walksPerDay.toFixed(1),
      formatCount(found.calls.refresh),
      formatTime(found.spentAtS),
      formatMinutes(found.meanAgeS),
      ...[300, HOUR_S, 24 * HOUR_S].map((ageS) => formatShare(found.olderShares[ageS])),
    ]),
  }
}

/** No kind of call may ever pass its share. */
function judgeBudget({ plan: { dailyLimit }, calls }, divideLimit) {
  const shares = divideLimit(dailyLimit)
  const names = ['walk', 'refresh', 'lookup']
  return {
    text: `calls of walks, refreshes and look-ups, of ${formatCount(dailyLimit)}: at most ${names.map((name) => formatCount(shares[name])).join(', ')}`,
    measured: names.map((name) => formatCount(calls[name])).join(', '),
    holds: names.every((name) => calls[name] <= shares[name]),
  }
}

/** Three digits that count, written out. */
function formatCount(value) {
  return Number(value.toPrecision(3)).toLocaleString('en')
}

function formatRate(perSecond) {
  return perSecond < 10 ? perSecond.toFixed(1) : formatCount(perSecond)
}

function formatShare(share) {
  return `${(share * 100).toFixed(1)} %`
}

function formatMinutes(seconds) {
  return formatRate(seconds / MINUTE_S)
}

function formatTime(seconds) {
  if (seconds === undefined) return 'the end'
  const hour = Math.floor(seconds / HOUR_S)
  const minute = Math.floor((seconds % HOUR_S) / MINUTE_S)
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
}
