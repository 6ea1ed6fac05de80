import { connectWebkit } from './webkit.ts'
import { testEngine } from './test-engine.ts'

testEngine({ name: 'WebKit', programs: ['WebKitWebDriver', 'Xvfb'], connect: connectWebkit })
