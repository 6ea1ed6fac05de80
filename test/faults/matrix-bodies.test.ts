import { BODY_FAULTS } from './matrix-bodies.ts'
import { describeFaults } from './matrix-runner.ts'

describeFaults('body', BODY_FAULTS)
