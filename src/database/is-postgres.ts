export { isPostgres } from './dialect.ts'
