import { catalog } from './catalog.mjs'
import { cold } from './cold.mjs'
import { databases } from './databases.mjs'
import { fleet } from './fleet.mjs'
import { hostileGrids, hostileGridsMillion } from './hostile-grids.mjs'
import { hot } from './hot.mjs'
import { notModified } from './not-modified.mjs'
import { embeds, grids } from './same-bytes.mjs'
import { sizing, sizingPostgres } from './sizing.mjs'
import { memory, start } from './start.mjs'
import { walkBesideAnswers } from './walk-beside-answers.mjs'
import { walkService } from './walk-service.mjs'
import { walk, walkMillion } from './walk.mjs'
import { workers } from './workers.mjs'
import { zipf } from './zipf.mjs'

/** Every scenario, in the order in which they run. */
export const SCENARIOS = [
  hot,
  zipf,
  notModified,
  embeds,
  grids,
  cold,
  hostileGrids,
  hostileGridsMillion,
  walk,
  walkService,
  walkMillion,
  walkBesideAnswers,
  start,
  memory,
  workers,
  databases,
  catalog,
  sizing,
  sizingPostgres,
  fleet,
]
