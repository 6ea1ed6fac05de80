/** Part of an error whose cause may be rejected rows. */
export const REJECTED_MARK = 'rejected; most often:'

/** Part of an error for which a new address is the remedy. */
export const ADDRESS_MARK = 'its address may have changed'

/** Part of an error after which the server runs the feed later by itself. */
export const PAUSE_MARK = 'asks for a pause'
