const MILLION = 1e6
const DATABASE_CPU = 'CPU s of the database'

/** What a million views of each kind cost. */
export function toViewTable(views, { measureLogBytes, readCpuSeconds: readDatabase }) {
  const [hasLog, hasServer] = [measureLogBytes !== null, readDatabase !== null]
  return {
    title: 'A million views that reach a server',
    columns: ['', 'CPU s', ...(hasServer ? [DATABASE_CPU] : []), 'GB sent', ...(hasLog ? ['GB of log'] : [])],
    rows: views.map(({ name, cpuUs, databaseCpuUs, bytes, logBytes }) => [
      name,
      cpuUs.toFixed(0),
      ...(hasServer ? [databaseCpuUs.toFixed(0)] : []),
      ((bytes * MILLION) / 1e9).toFixed(2),
      ...(hasLog ? [((logBytes * MILLION) / 1e9).toFixed(2)] : []),
    ]),
  }
}

function perMillion(value, count) {
  return (value / count) * MILLION
}

/** What walks cost, told for a million products. */
export function toProductTable(found, { measureLogBytes, readCpuSeconds: readDatabase }) {
  const [hasLog, hasServer] = [measureLogBytes !== null, readDatabase !== null]
  const rows = found.flatMap(({ count, walks }) =>
    Object.entries(walks).map(([name, walk]) => [
      `${count.toLocaleString('en')}, ${name}`,
      Math.ceil(perMillion(walk.pages, count)),
      (perMillion(walk.bytes, count) / 1e9).toFixed(2),
      perMillion(walk.seconds, count).toFixed(0),
      perMillion(walk.cpuSeconds, count).toFixed(0),
      ...(hasServer ? [perMillion(walk.databaseCpuSeconds, count).toFixed(0)] : []),
      ...(hasLog ? [(perMillion(walk.logBytes, count) / 1e9).toFixed(2)] : []),
      (perMillion(walk.databaseBytes, count) / 1e9).toFixed(2),
    ]),
  )
  return {
    title: 'A walk of a million products, from walks of fewer',
    columns: [
      'walked',
      'calls',
      'GB fetched',
      'seconds',
      'CPU s',
      ...(hasServer ? [DATABASE_CPU] : []),
      ...(hasLog ? ['GB of log'] : []),
      'GB of database after it',
    ],
    rows,
  }
}

/** What a channel costs beyond its products. */
export function toChannelTable({ channelCount, ofEach, many, one }) {
  const others = channelCount - 1
  const perChannel = (read) => Math.max(0, (read(many) - read(one)) / others)
  return {
    title: `A channel, from ${channelCount} with ${ofEach} products each beside one with all of them`,
    columns: ['', 'of a channel'],
    rows: [
      ['calls of a walk, at least', 1],
      ['CPU ms of a first walk', (perChannel(({ first }) => first.cpuSeconds) * 1e3).toFixed(1)],
      ['CPU ms of a walk without a change', (perChannel(({ again }) => again.cpuSeconds) * 1e3).toFixed(1)],
      ['kB of database', (perChannel(({ bytes }) => bytes) / 1e3).toFixed(1)],
      ['MB of memory', perChannel(({ rssMb }) => rssMb).toFixed(2)],
    ],
  }
}
