import { CONNECTION_FAULTS } from './matrix-connections.ts'
import { describeFaults } from './matrix-runner.ts'

describeFaults('connection', CONNECTION_FAULTS)
