import { UnavailableError, VitrineError } from '../errors.ts'
import { type WidgetSize, toWidgetSize } from '../widgets/heights.ts'
import type { BoxView } from '../widgets/box.ts'
import type { GridView } from '../widgets/grid.ts'
import type { PicksView } from '../widgets/picks.ts'
import type { Widget } from '../widgets/widget.ts'

/** `isComplete`: whether every product of the widget's address is shown. */
export type WidgetStatus =
  | Readonly<{ kind: 'shown'; size: WidgetSize; isComplete: boolean }>
  | Readonly<{ kind: 'hidden'; reason: string }>

/** A widget that cannot be built now counts as hidden, with the message of its error as the reason. */
export async function readWidgetStatus(
  getWidget: () => Promise<Widget<BoxView | PicksView | GridView>>,
): Promise<WidgetStatus> {
  try {
    const widget = await getWidget()
    const view = widget.getView()
    return view === undefined
      ? { kind: 'hidden', reason: widget.hiddenReason }
      : { kind: 'shown', size: toWidgetSize(view), isComplete: widget.missingReason === null }
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    const reason =
      error instanceof UnavailableError
        ? 'The server has no usable data for it yet. Run "vitrine check" to find out why.'
        : error.publicMessage
    return { kind: 'hidden', reason }
  }
}
