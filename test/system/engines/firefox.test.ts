import { connectFirefox } from './firefox.ts'
import { testEngine } from './test-engine.ts'

testEngine({ name: 'Firefox', programs: ['firefox-esr'], connect: connectFirefox })
