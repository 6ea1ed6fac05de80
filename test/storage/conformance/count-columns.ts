/** Every column of the tables of counts. Nothing else may be stored about a request: no address, agent or time finer than a day. */
const COUNT_COLUMNS = {
  widget_counts: ['copy_id', 'day', 'sub', 'gtin', 'shown', 'hidden', 'unavailable'],
  click_counts: ['copy_id', 'day', 'sub', 'gtin', 'merchant', 'clicks'],
  count_days: [
    'copy_id',
    'day',
    'subs',
    'widget_rows',
    'click_rows',
    'new_subs',
    'new_widget_rows',
    'new_click_rows',
  ],
} as const

export const ALLOWED_COUNT_COLUMNS: readonly string[] = Object.entries(COUNT_COLUMNS)
  .flatMap(([table, columns]) => columns.map((column) => `${table}.${column}`))
  .sort()
