import { connectChromium } from './chromium.ts'
import { testEngine } from './test-engine.ts'

testEngine({ name: 'Chromium', programs: [], connect: connectChromium })
