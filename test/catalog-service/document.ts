import { readFileSync } from 'node:fs'
import type { OpenApiDocument } from '../../src/catalog-service/openapi/pages.ts'

const FILE = new URL('../../src/catalog-service/openapi/openapi.json', import.meta.url)

/** The document that describes the interface of the catalog service. */
export const DOCUMENT = JSON.parse(readFileSync(FILE, 'utf8')) as OpenApiDocument
