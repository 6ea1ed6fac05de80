import {
  type FaultRow,
  GOOD_BODY,
  GOOD_CHUNK,
  GOOD_LENGTH,
  INVALID,
  UNREACHABLE,
  succeed,
  fail,
  hang,
  sendRaw,
  toRaw,
} from './matrix.ts'

const CHUNKED = 'Transfer-Encoding: chunked'
const LAST_CHUNK = '0\r\n\r\n'

/** Look-ups with a broken connection or invalid HTTP. Every complete body is a valid product. */
export const CONNECTION_FAULTS: readonly FaultRow[] = [
  fail('reset before any byte', UNREACHABLE, ({ socket }) => void socket.resetAndDestroy()),
  fail('reset in the headers', UNREACHABLE, sendRaw('HTTP/1.1 200 OK\r\nContent-Ty', 'reset')),
  fail('reset in the body', UNREACHABLE, sendRaw(toRaw(['Content-Length: 5000'], GOOD_BODY), 'reset')),
  fail('closed without a response', UNREACHABLE, ({ socket }) => void socket.end()),
  fail('closed in the headers', UNREACHABLE, sendRaw('HTTP/1.1 200 OK\r\nContent-Ty')),
  fail('body shorter than its length', UNREACHABLE, sendRaw(toRaw(['Content-Length: 5000'], GOOD_BODY))),
  fail('body longer than its length', INVALID, sendRaw(toRaw(['Content-Length: 40'], GOOD_BODY))),
  succeed('bytes after the body', 'product', sendRaw(toRaw([GOOD_LENGTH], `${GOOD_BODY}${GOOD_BODY}`))),
  succeed(
    'a second response after the first',
    'product',
    sendRaw(toRaw([GOOD_LENGTH], GOOD_BODY) + toRaw(['Content-Length: 4'], 'null')),
  ),
  fail('bad chunk size', UNREACHABLE, sendRaw(toRaw([CHUNKED], `ZZ\r\n${GOOD_BODY}\r\n${LAST_CHUNK}`))),
  fail('negative chunk size', UNREACHABLE, sendRaw(toRaw([CHUNKED], `-5\r\n${GOOD_BODY}\r\n${LAST_CHUNK}`))),
  fail('closed before the last chunk', UNREACHABLE, sendRaw(toRaw([CHUNKED], GOOD_CHUNK))),
  fail('two different lengths', UNREACHABLE, sendRaw(toRaw([GOOD_LENGTH, 'Content-Length: 3'], GOOD_BODY))),
  fail('the same length twice', UNREACHABLE, sendRaw(toRaw([GOOD_LENGTH, GOOD_LENGTH], GOOD_BODY))),
  fail('negative length', UNREACHABLE, sendRaw(toRaw(['Content-Length: -1'], GOOD_BODY))),
  fail(
    'length and chunked encoding together',
    UNREACHABLE,
    sendRaw(toRaw([GOOD_LENGTH, CHUNKED], GOOD_CHUNK + LAST_CHUNK)),
  ),
  fail('not HTTP', UNREACHABLE, sendRaw('SSH-2.0-OpenSSH_9.9\r\n')),
  fail('unrequested HTTP/2', UNREACHABLE, sendRaw(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))),
  fail('body without headers', UNREACHABLE, sendRaw(GOOD_BODY)),
  fail('invalid status', UNREACHABLE, sendRaw(`HTTP/1.1 20x OK\r\n${GOOD_LENGTH}\r\n\r\n${GOOD_BODY}`)),
  fail('header without a colon', UNREACHABLE, sendRaw(toRaw(['X-Bad', GOOD_LENGTH], GOOD_BODY))),
  fail(
    '200 kB header',
    UNREACHABLE,
    sendRaw(toRaw([`X-Much: ${'x'.repeat(200_000)}`, GOOD_LENGTH], GOOD_BODY)),
  ),
  fail(
    'ten thousand headers',
    UNREACHABLE,
    sendRaw(
      toRaw([...Array.from({ length: 10_000 }, (_, index) => `X-${index}: x`), GOOD_LENGTH], GOOD_BODY),
    ),
  ),
  fail(
    'unrequested protocol upgrade',
    UNREACHABLE,
    sendRaw('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n'),
  ),
]

/** Look-ups that end only with the deadline. */
export const HANGING_FAULTS: readonly FaultRow[] = [
  hang('hang before the headers', () => {}),
  hang('hang in the headers', sendRaw('HTTP/1.1 200 OK\r\nContent-Ty', 'stay')),
  hang('hang in the body', sendRaw(toRaw(['Content-Length: 5000'], GOOD_BODY), 'stay')),
  hang('hang one byte before the end', sendRaw(toRaw([GOOD_LENGTH], GOOD_BODY.slice(0, -1)), 'stay')),
  hang('drip of bytes in the headers', sendRaw('HTTP/1.1 200 OK\r\nX-Drip: ', 'stay'), 'x'),
  hang('drip of bytes in the body', sendRaw(toRaw(['Content-Length: 5000'], GOOD_BODY), 'stay'), ' '),
  hang('chunks that never end', sendRaw(toRaw([CHUNKED], GOOD_CHUNK), 'stay'), '1\r\n \r\n'),
  hang('early hints that never end', sendRaw('', 'stay'), 'HTTP/1.1 103 Early Hints\r\n\r\n'),
]
