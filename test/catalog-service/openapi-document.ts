import { readFileSync } from 'node:fs'
import type { OpenApiDocument } from '../../src/catalog-service/openapi/pages.ts'

const DOCUMENT_FILE = new URL('../../src/catalog-service/openapi/openapi.json', import.meta.url)

export const OPENAPI_DOCUMENT = JSON.parse(readFileSync(DOCUMENT_FILE, 'utf8')) as OpenApiDocument
