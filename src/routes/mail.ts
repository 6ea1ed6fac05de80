import type { Context } from '../context.ts'
import { crossOriginHeaders, toFragmentPolicy } from '../http/security-headers.ts'
import { toMailView } from '../widgets/mail.ts'
import { toFailureComment } from './fragments.ts'
import type { SurfaceOptions } from './prepare-response.ts'
import {
  HTML_TYPE,
  WIDGET_PATHS,
  type WidgetSurface,
  createClosedSurface,
  createWidgetSurface,
} from './widget-routes.ts'

/** Create the addresses `/mail/…`: tables for newsletters, with offers of the allowed networks only. Hidden is 200 without bytes. */
export function createMailSurface(context: Context): WidgetSurface {
  const headers = {
    ...crossOriginHeaders,
    'Content-Security-Policy': `${toFragmentPolicy(context.pageSources)}; style-src-attr 'unsafe-inline'`,
    'X-Robots-Tag': 'noindex',
  }
  const options: SurfaceOptions = {
    surface: 'mail',
    prefix: '/mail',
    paths: WIDGET_PATHS,
    contentType: HTML_TYPE,
    toHeaders: () => headers,
    toEtag: (digest, isShown) => (isShown ? `"${digest}"` : null),
    isCompressed: false,
    render: (view) => (view === undefined ? '' : context.renderer.renderMail(toMailView(view))),
    renderFailure: toFailureComment,
  }
  return context.config.mailNetworks === null
    ? createClosedSurface(
        context,
        options,
        'The newsletter addresses are closed. The setting VITRINE_MAIL_NETWORKS names the networks that allow links in e-mail.',
      )
    : createWidgetSurface(context, options)
}
