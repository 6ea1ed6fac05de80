import { STATUS_FAULTS } from './matrix-statuses.ts'
import { describeFaults } from './matrix-runner.ts'

describeFaults('status', STATUS_FAULTS)
