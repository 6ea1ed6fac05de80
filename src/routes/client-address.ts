import type { Request } from 'express'
import type { Context } from '../context.ts'
import { toLimiterKey } from '../http/limiter-key.ts'

/**
 * Return the address by which a visitor is limited, of IPv6 its /64. With `VITRINE_TRUST_PROXY=true` that is the address of the
 * connection: the first entry of `X-Forwarded-For`, which Express believes then, may be invented.
 */
export function findClientAddress({ config }: Pick<Context, 'config'>, { ip, socket }: Request): string {
  const socketAddress = socket.remoteAddress ?? ''
  const address = config.trustProxy === true ? socketAddress : (ip ?? socketAddress)
  return toLimiterKey(address) ?? toLimiterKey(socketAddress) ?? ''
}
