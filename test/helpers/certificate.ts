import { generateKeyPairSync, sign } from 'node:crypto'

/** A self-signed certificate and its key in PEM. */
export type Certificate = Readonly<{ key: string; cert: string }>

/** ECDSA with SHA-256, common name, subject alternative name. */
const OIDS = { signature: '06082a8648ce3d040302', commonName: '0603550403', alternativeName: '0603551d11' }

/** Create a certificate for some host names, so that a test can serve https without other programs. */
export function makeCertificate(hostnames: readonly string[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = encode(0x30, Buffer.from(OIDS.signature, 'hex'))
  const name = encode(
    0x30,
    encode(0x31, encode(0x30, Buffer.from(OIDS.commonName, 'hex'), encode(0x0c, Buffer.from('test')))),
  )
  const alternativeNames = encode(0x30, ...hostnames.map((hostname) => encode(0x82, Buffer.from(hostname))))
  const extension = encode(0x30, Buffer.from(OIDS.alternativeName, 'hex'), encode(0x04, alternativeNames))
  const content = encode(
    0x30,
    encode(0xa0, encode(0x02, Buffer.from([2]))),
    encode(0x02, Buffer.from([1])),
    algorithm,
    name,
    encode(0x30, encode(0x17, Buffer.from('200101000000Z')), encode(0x17, Buffer.from('491231235959Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    encode(0xa3, encode(0x30, extension)),
  )
  const signature = encode(0x03, Buffer.from([0]), sign('sha256', content, privateKey))
  const certificate = encode(0x30, content, algorithm, signature)
  const lines = certificate.toString('base64').replace(/.{64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  }
}

/** Encode a value in DER: tag, length, contents. */
function encode(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}
