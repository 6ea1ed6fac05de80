/**
 * Forms of links that the networks publish, with numbers and destinations replaced. `source`: where the form is published.
 * `after`: the link with the sub-id `best-lamps_2`. `parameter`: the query parameter that differs; otherwise `inserted` is the text
 * that was added.
 */
export type PublishedLink = Readonly<{ network: string; source: string; link: string; after: string }> &
  (Readonly<{ parameter: string }> | Readonly<{ inserted: string }>)

export const SUB = 'best-lamps_2'

const CJ_PATH = 'https://github.com/brave/brave-browser/issues/22429'
const IMPACT =
  'https://help.impact.com/en/support/solutions/articles/48001235417-sub-id-shared-id-parameters-explained-for-partners'
const RAKUTEN = 'https://pubhelp.rakutenadvertising.com/hc/en-us/articles/4412187768717-Link-Code'
const TRADEDOUBLER =
  'https://reports.tradedoubler.com/pan/helpTextServlet?commonInfoText=COMMUNITY_GB_EPI_TEXT&commonInfoTitle=COMMUNITY_GB_EPI_TITLE'
/** It lists `&epi=` and `EPI(…)`. */
const SUB_ID_LIST = 'https://gist.github.com/lbdremy/4770970'
const ADTRACTION = 'https://help.adtraction.com/en/articles/1563109-what-is-epi-and-how-does-it-work'
const PARTNERIZE = 'https://docs.fmtc.co/kb/partnerize'
const TRADETRACKER = 'https://github.com/tradetracker-com/magento2/blob/master/Controller/Redirect/Index.php'
const KELKOO = 'https://docs.kelkoogroup.com/documentation/publishers/guides/publisher-parameters'

export const PUBLISHED_LINKS: readonly PublishedLink[] = [
  {
    network: 'awin',
    source: 'http://wiki.affiliatewindow.com/index.php/Affiliate_Click_Ref',
    link: 'http://www.awin1.com/pclick.php?mid=3&id=14895',
    after: 'http://www.awin1.com/pclick.php?clickref=best-lamps_2&mid=3&id=14895',
    parameter: 'clickref',
  },
  {
    network: 'Awin',
    source: 'https://packagist.org/packages/yawaweb/affiliate-deeplink-generator',
    link: 'https://www.awin1.com/cread.php?awinmid=123&awinaffid=456&campaign=mine&ued=https%3A%2F%2Fwww.example.com%2Fsearch%2F%3FsSearch%3Dfootball',
    after:
      'https://www.awin1.com/cread.php?clickref=best-lamps_2&awinmid=123&awinaffid=456&campaign=mine&ued=https%3A%2F%2Fwww.example.com%2Fsearch%2F%3FsSearch%3Dfootball',
    parameter: 'clickref',
  },
  {
    network: 'Commission Junction',
    source: 'http://forums.digitalpoint.com/archive/index.php/t-81723.html',
    link: 'http://www.kqzyfj.com/click-1234567-12345678',
    after: 'http://www.kqzyfj.com/click-1234567-12345678?sid=best-lamps_2',
    parameter: 'sid',
  },
  {
    network: 'CJ',
    source: 'https://docs.swaarm.com/en/articles/8922231-cj-integration',
    link: 'https://www.anrdoezrs.net/click-1234567-12345678?url=https%3A%2F%2Fwww.example.com%2Flamp%3Fcolour%3Dred',
    after:
      'https://www.anrdoezrs.net/click-1234567-12345678?sid=best-lamps_2&url=https%3A%2F%2Fwww.example.com%2Flamp%3Fcolour%3Dred',
    parameter: 'sid',
  },
  {
    network: 'cj',
    source: CJ_PATH,
    link: 'https://www.anrdoezrs.net/links/1234567/type/dlg/https://www.example.com/lamp?colour=red#sizes',
    after:
      'https://www.anrdoezrs.net/links/1234567/type/dlg/sid/best-lamps_2/https://www.example.com/lamp?colour=red#sizes',
    inserted: '/sid/best-lamps_2',
  },
  {
    network: 'impact',
    source: IMPACT,
    link: 'https://brand.pxf.io/c/1234567/654321/4321',
    after: 'https://brand.pxf.io/c/1234567/654321/4321?subId1=best-lamps_2',
    parameter: 'subId1',
  },
  {
    network: 'Impact.com',
    source: 'https://github.com/brave/adblock-lists/pull/694',
    link: 'https://brand.pxf.io/c/159047/444520/7915?&sharedId=site&u=https%3A%2F%2Fwww.example.com',
    after:
      'https://brand.pxf.io/c/159047/444520/7915?subId1=best-lamps_2&&sharedId=site&u=https%3A%2F%2Fwww.example.com',
    parameter: 'subId1',
  },
  {
    network: 'rakuten',
    source: RAKUTEN,
    link: 'https://click.linksynergy.com/fs-bin/click?id=lMh2Xiq9xN0&offerid=7097.10000034&subid=0&type=4',
    after:
      'https://click.linksynergy.com/fs-bin/click?u1=best-lamps_2&id=lMh2Xiq9xN0&offerid=7097.10000034&subid=0&type=4',
    parameter: 'u1',
  },
  {
    network: 'Rakuten Advertising',
    source: 'https://docs.fmtc.co/kb/rakuten',
    link: 'https://click.linksynergy.com/deeplink?id=lMh2Xiq9xN0&mid=36889&murl=https://www.example.com/lamp?colour=red&size=2',
    after:
      'https://click.linksynergy.com/deeplink?u1=best-lamps_2&id=lMh2Xiq9xN0&mid=36889&murl=https://www.example.com/lamp?colour=red&size=2',
    parameter: 'u1',
  },
  {
    network: 'tradedoubler',
    source: TRADEDOUBLER,
    link: 'http://tracker.tradedoubler.com/click?p=123&a=654321',
    after: 'http://tracker.tradedoubler.com/click?epi=best-lamps_2&p=123&a=654321',
    parameter: 'epi',
  },
  {
    network: 'Tradedoubler',
    source: SUB_ID_LIST,
    link: 'https://clk.tradedoubler.com/click?p(264338)a(3096280)g(22913782)url(https://www.example.com/lamp?a=1)',
    after:
      'https://clk.tradedoubler.com/click?p(264338)a(3096280)g(22913782)epi(best-lamps_2)url(https://www.example.com/lamp?a=1)',
    inserted: 'epi(best-lamps_2)',
  },
  {
    network: 'tradedoubler',
    source: SUB_ID_LIST,
    link: 'http://pdt.tradedoubler.com/click?a(2238732)p(72222)prod(717215663)ttid(5)url(http%3A%2F%2Fwww.example.com%2Fdp.asp%3Fsku%3D1)',
    after:
      'http://pdt.tradedoubler.com/click?a(2238732)p(72222)prod(717215663)ttid(5)epi(best-lamps_2)url(http%3A%2F%2Fwww.example.com%2Fdp.asp%3Fsku%3D1)',
    inserted: 'epi(best-lamps_2)',
  },
  {
    network: 'tradedoubler',
    source: SUB_ID_LIST,
    link: 'https://clk.tradedoubler.com/click?p(310409)a(982247)g(0)',
    after: 'https://clk.tradedoubler.com/click?p(310409)a(982247)g(0)epi(best-lamps_2)',
    inserted: 'epi(best-lamps_2)',
  },
  {
    network: 'adtraction',
    source: ADTRACTION,
    link: 'https://track.adtraction.com/t/t?a=243&as=110183&t=2&tk=1&url=https://www.example.com',
    after:
      'https://track.adtraction.com/t/t?epi=best-lamps_2&a=243&as=110183&t=2&tk=1&url=https://www.example.com',
    parameter: 'epi',
  },
  {
    network: 'adtraction',
    source: ADTRACTION,
    link: 'https://adtr.co/wyVwvz',
    after: 'https://adtr.co/wyVwvz?epi=best-lamps_2',
    parameter: 'epi',
  },
  {
    network: 'partnerize',
    source: PARTNERIZE,
    link: 'https://prf.hn/click/camref:XXXX',
    after: 'https://prf.hn/click/camref:XXXX/pubref:best-lamps_2',
    inserted: '/pubref:best-lamps_2',
  },
  {
    network: 'Partnerize',
    source: PARTNERIZE,
    link: 'http://prf.hn/click/camref:XXXX/destination:http://www.advertiser.com',
    after: 'http://prf.hn/click/camref:XXXX/pubref:best-lamps_2/destination:http://www.advertiser.com',
    inserted: '/pubref:best-lamps_2',
  },
  {
    network: 'partnerize',
    source: PARTNERIZE,
    link: 'https://brand.prf.hn/click/camref:XXXX/ar:london/destination:http://www.advertiser.com/ar:1?b=/destination:',
    after:
      'https://brand.prf.hn/click/camref:XXXX/pubref:best-lamps_2/ar:london/destination:http://www.advertiser.com/ar:1?b=/destination:',
    inserted: '/pubref:best-lamps_2',
  },
  {
    network: 'partnerize',
    source: PARTNERIZE,
    link: 'https://prf.hn/click/camref:XXXX/creativeref:XYZ1234',
    after: 'https://prf.hn/click/camref:XXXX/creativeref:XYZ1234/pubref:best-lamps_2',
    inserted: '/pubref:best-lamps_2',
  },
  {
    network: 'webgains',
    source: 'https://knowledgehub.webgains.com/home/how-do-i-create-a-tracking-link-for-a-program',
    link: 'https://track.webgains.com/click.html?wgcampaignid=123&wgprogramid=456&wgtarget=https://www.example.com/lamp',
    after:
      'https://track.webgains.com/click.html?clickref=best-lamps_2&wgcampaignid=123&wgprogramid=456&wgtarget=https://www.example.com/lamp',
    parameter: 'clickref',
  },
  {
    network: 'tradetracker',
    source: TRADETRACKER,
    link: 'https://tc.tradetracker.net/?c=15640&m=12&a=448474&r=&u=%2Flamp%3Fcolour%3Dred',
    after: 'https://tc.tradetracker.net/?c=15640&m=12&a=448474&r=best-lamps_2&u=%2Flamp%3Fcolour%3Dred',
    parameter: 'r',
  },
  {
    network: 'TradeTracker',
    source: TRADETRACKER,
    link: 'https://tc.tradetracker.net/?c=5187&m=12&a=233877',
    after: 'https://tc.tradetracker.net/?r=best-lamps_2&c=5187&m=12&a=233877',
    parameter: 'r',
  },
  {
    network: 'kelkoo',
    source: KELKOO,
    link: 'https://uk-go.kelkoogroup.net/sitesearchGo?.ts=1686497856184&.sig=F2_E60orbWJ-&affiliationId=96960479&comId=100498296&country=uk&offerId=1c7805ee&service=36',
    after:
      'https://uk-go.kelkoogroup.net/sitesearchGo?.ts=1686497856184&.sig=F2_E60orbWJ-&affiliationId=96960479&comId=100498296&country=uk&offerId=1c7805ee&service=36&custom1=best-lamps_2',
    parameter: 'custom1',
  },
  {
    network: 'Kelkoo',
    source: KELKOO,
    link: 'https://de-go.kelkoogroup.net/permanentLinkGo?country=de&id=96960479&merchantUrl=https%3A%2F%2Fwww.example.com%2Flamp%3Fcolour%3Dred',
    after:
      'https://de-go.kelkoogroup.net/permanentLinkGo?country=de&id=96960479&merchantUrl=https%3A%2F%2Fwww.example.com%2Flamp%3Fcolour%3Dred&custom1=best-lamps_2',
    parameter: 'custom1',
  },
]
