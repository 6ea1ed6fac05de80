import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { ConfigError, ListenError } from '../errors.ts'

/** Pending connections. The default of Node (511) resets connections in short peaks. The kernel has its own limit. */
const BACKLOG = 4_096

type Explanation = readonly [reason: string, remedy: string]

const UNKNOWN_NAME: Explanation = [
  'the name has no address',
  'Set VITRINE_HOST to an IP address, or give the name an address in DNS or /etc/hosts.',
]

const NO_ADDRESS: Explanation = [
  'this machine does not have the address now',
  'Switch on its network interface, or set VITRINE_HOST to an address of this machine.',
]

/** Of the server, or of the embedded catalog, whose address is not a setting. */
const NO_LOOPBACK: Explanation = [
  'this machine does not have the address now',
  'Switch on its loopback interface, and give it the address.',
]

const TOO_MANY_FILES: Explanation = [
  'too many files are open',
  'Raise the limit: "ulimit -n", LimitNOFILE= of systemd, or --ulimit of Docker.',
]

/** Faults that can pass without a change of the settings. */
const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  EADDRINUSE: ['the port is in use', 'Stop the other program, or set VITRINE_PORT to a free port.'],
  EADDRNOTAVAIL: NO_ADDRESS,
  EAI_AGAIN: UNKNOWN_NAME,
  // The interface after "%" is missing.
  EINVAL: NO_ADDRESS,
  EMFILE: TOO_MANY_FILES,
  ENFILE: TOO_MANY_FILES,
  ENOTFOUND: UNKNOWN_NAME,
}

/**
 * Listen, and return the port in use. Port 0 chooses a free one.
 * @throws ListenError when a restart can help, because the fault may pass by itself; otherwise ConfigError
 */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  try {
    server.listen({ port, host, backlog: BACKLOG })
    await once(server, 'listening')
  } catch (error) {
    throw toListenError(error, host, port)
  }
  return (server.address() as AddressInfo).port
}

function toListenError(cause: unknown, host: string, port: number): ListenError | ConfigError {
  const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason'
  if (code === 'EACCES') {
    const advice =
      port < 1_024 ? 'choose a port from 1024 on, or grant CAP_NET_BIND_SERVICE' : 'choose another port'
    return new ConfigError([`VITRINE_PORT: this user may not listen on port ${port}; ${advice}`])
  }
  if (code === 'EAFNOSUPPORT')
    return new ConfigError([
      `VITRINE_HOST: this machine cannot listen on ${host}, because IPv6 is off; write an IPv4 address`,
    ])
  const isLoopback = code === 'EADDRNOTAVAIL' && host.startsWith('127.')
  const [reason, remedy] = (isLoopback ? NO_LOOPBACK : EXPLANATIONS[code]) ?? [
    code,
    'Check VITRINE_HOST and VITRINE_PORT.',
  ]
  return new ListenError(`cannot listen on ${host}, port ${port}: ${reason}`, { cause, remedy })
}
