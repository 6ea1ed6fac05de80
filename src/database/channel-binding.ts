import { Client, type ClientConfig } from 'pg'

const REFUSAL =
  'the server does not bind the login to the TLS connection, which channel_binding=require demands; a pooler or proxy may be in front of it'

/**
 * A client that connects only if the server proves, bound to this TLS connection, that it knows the password. The driver uses
 * channel binding if it is offered, but would also accept any other way to log in.
 */
export class BoundClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config)
    const { connection } = this
    let isOffered = false
    let isProven = false
    const refuse = (): void => {
      // The rest of the data that arrived must not report success.
      connection.removeAllListeners('readyForQuery')
      connection.stream.destroy(new Error(REFUSAL))
    }
    // These listeners run before those of the driver, which cannot send a password to a destroyed stream.
    connection.on('authenticationCleartextPassword', refuse)
    connection.on('authenticationMD5Password', refuse)
    connection.on('authenticationSASL', ({ mechanisms }: Readonly<{ mechanisms: readonly string[] }>) => {
      isOffered = mechanisms.includes('SCRAM-SHA-256-PLUS')
      if (!isOffered) refuse()
    })
    connection.on('authenticationSASLFinal', () => (isProven = isOffered))
    connection.on('authenticationOk', () => {
      if (!isProven) refuse()
    })
  }
}
