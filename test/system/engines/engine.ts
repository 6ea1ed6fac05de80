/** Size of the page's window in CSS pixels. WebKit's window is at least 290 px wide. */
export type Viewport = Readonly<{ width: number; height: number }>

/** Keys that a reader presses in the tests. */
export type Key = 'Tab' | 'Enter' | 'Space'

/** A page in any browser engine. `frame` is the CSS selector of an iframe in the page; without it, the page itself is meant. */
export type EnginePage = Readonly<{
  /** Open an address and wait for the load event. */
  goto(url: string): Promise<void>
  /** Evaluate a JavaScript expression, and await it if it is a promise. The value must be JSON. */
  evaluate<T>(expression: string, frame?: string): Promise<T>
  resize(viewport: Viewport): Promise<void>
  /** Press and release a key like a reader. */
  press(key: Key): Promise<void>
  /** Scroll to an element and click it like a reader. */
  click(selector: string, frame?: string): Promise<void>
  close(): Promise<void>
}>

/** A connection to a running browser. */
export type Engine = Readonly<{
  /** Open a page in front of all others. Close it before you open another one. */
  open(viewport: Viewport): Promise<EnginePage>
  disconnect(): Promise<void>
}>
