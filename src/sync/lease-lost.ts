import { WalkError } from '../errors.ts'

/** What a walk ends with whose lease another process holds. */
export function createTakenOver(): WalkError {
  return new WalkError('another process took the walk over')
}
