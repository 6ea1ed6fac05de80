import { toFeedText } from './feed-text.ts'

/** Nothing, or a dash. Other signs may be letters that were lost. */
const NO_CONDITION = /^[\s\-–—.]*$/

/** Of a condition in a reason. */
const MAX_WORD_CHARACTERS = 40

/**
 * Remove the address of schema.org or another vocabulary, accents, spaces and signs: `https://schema.org/NewCondition`, `Brand-New` and
 * `Nový` give `new`, `brandnew` and `novy`.
 */
export function normalizeCondition(text: string): string {
  return text
    .trim()
    .replace(
      /^(?:(?:https?:)?\/\/\S*[/#]|(?:www\.)?schema\.org\/|(?:g|schema):|\w+condition\.)(?=[a-z]+\/?$)/i,
      '',
    )
    .replace(/ı/gi, 'i')
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/(?<=.)(?:item)?condition$/, '')
}

/**
 * Words and numbers that mean new, in the languages of the widgets and those of other feeds, without spaces.
 * Numbers: 1000 of eBay, 11 of Amazon. "Like new", "as new" and "neuwertig" are used goods.
 */
const NEW_CONDITIONS: ReadonlySet<string> = new Set(
  [
    'new brandnew allnew newitem newproduct factorynew newfactorysealed newsealed unused newunused unusednew newandunused neverused newneverused newinbox newwithbox newwithtags brandnewinbox nib bnib nwt unworn anew factorysealed sealed unopened 1000 11',
    'neu neue neuer neues neuware neuprodukt neuovp neuoriginalverpackt originalverpackt brandneu nagelneu fabrikneu neuundoriginalverpackt neuzustand zustandneu ungebraucht unbenutzt neuunbenutzt neuundunbenutzt neuungebraucht neuerartikel neuesprodukt neuinovp neumitetikett neumitovp neuwareovp',
    'neuf neuve neufs neuves nouveau nouvelle etatneuf produitneuf articleneuf neufsousblister jamaisutilise toutneuf flambantneuf neufavecetiquette neufavecetiquettes',
    'nuevo nueva nuevos nuevas productonuevo articulonuevo sinusar sinestrenar aestrenar completamentenuevo nuevoaestrenar nuevoconetiquetas nuevoconetiqueta',
    'nuovo nuova nuovi nuove prodottonuovo articolonuovo maiusato nuovoconetichetta nuovodizecca nuovodifabbrica nuovoimballato',
    'novo nova novos novas produtonovo artigonovo semuso novoemfolha novocometiqueta',
    'nieuw nieuwe nieuwproduct gloednieuw ongebruikt splinternieuw nieuwindoos nieuwmetlabel',
    'ny nyt nye nytt nya helny spritny fabriksny fabrikksny ubrugt ubrukt oanvand nyoanvand nyoubrugt heltny heltnyt heltnytt splitterny splinterny nyvara nyvare nytprodukt nyprodukt nyttprodukt ooppnad',
    'uusi uudet kayttamaton uusikayttamaton upouusi uusituote',
    'nowy nowa nowe nieuzywany nieuzywana nieuzywane fabrycznienowy produktnowy nowyprodukt stannowy nowyzmetka',
    'novy nove nepouzity nepouzita nepouzite novytovar novyprodukt novezbozi zcelanovy novinka',
    'uj ujtermek nou noua noi produsnou nov naujas nauja jauns jauna uus yeni sifir yeniurun sifirurun kullanilmamis',
    'новый новая новое новые новии нова нове нови нов ново новыйтовар новийтовар абсолютноновый неиспользованный',
    'νεο νεος νεα καινουργιο καινουριο καινουργια καινουρια',
    'جديد جديدة جديده חדש חדשה',
    '新品 新品未使用 未使用 新しい 全新 全新品 새상품 새제품 신품 새것 미개봉 新品未開封 未開封',
  ].flatMap((words) => words.split(' ').map(normalizeCondition)),
)

/**
 * Return why a product is not known to be new; `undefined` if it is, as without a condition. A list must mean new in each part.
 * `allowed`: further words, normalized.
 */
export function findConditionProblem(text: string, allowed: ReadonlySet<string>): string | undefined {
  // Most rows have one of these words as it is.
  if (text === '' || NEW_CONDITIONS.has(text)) return undefined
  const shown = toFeedText(text)
  const words = shown
    .split(/[,;|]/)
    .filter((part) => !NO_CONDITION.test(part))
    .map(normalizeCondition)
  const isNew = (word: string): boolean => NEW_CONDITIONS.has(word) || allowed.has(word)
  if (words.every(isNew) || allowed.has(normalizeCondition(text))) return undefined
  const quoted =
    shown.length > MAX_WORD_CHARACTERS ? `${shown.slice(0, MAX_WORD_CHARACTERS).trimEnd()}…` : shown
  return `the condition "${quoted}" is not known to mean new`
}
