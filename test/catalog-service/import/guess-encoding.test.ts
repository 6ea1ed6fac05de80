import iconv from 'iconv-lite'
import { describe, expect, it } from 'vitest'
import { readFeedText } from './read-feed-text.ts'

const HEAD = 'gtin;title;link;price\n'
const toRow = (title: string): string => `9520001001024;${title};https://shop.example/;1 EUR\n`
const toFeed = (titles: readonly string[]): string => HEAD + titles.map(toRow).join('')

/** Names of products, as a shop of kitchen ware writes them. */
const TITLES = {
  French: [
    'Théière en fonte émaillée',
    'Bouilloire électrique à température réglable',
    'Crème brûlée : chalumeau et ramequins',
    'Café moulu à la française',
  ],
  German: [
    'Kaffeemühle für die Küche',
    'Größe L, weiß',
    'Schöner Übertopf aus Steingut',
    'Löffel für Gewürze',
  ],
  Polish: [
    'Młynek do kawy żeliwny',
    'Łyżka drewniana do zupy',
    'Świeca zapachowa w szkle',
    'Pościel bawełniana dwuosobowa',
    'Garnek ze stali z pokrywką',
    'Nóż kuchenny do mięsa',
    'Zestaw kieliszków do wódki',
    'Ręcznik kąpielowy, duży',
  ],
  Czech: [
    'Mlýnek na kávu s ocelovými kameny',
    'Šálek s podšálkem pro dvě osoby',
    'Příborový nůž z nerezové oceli',
    'Čajová konvice s keramickým víkem',
    'Dřevěné prkénko na krájení zeleniny',
    'Hrnec na těstoviny, třílitrový',
    'Sada talířů pro šest osob',
    'Žehlička s napařováním',
  ],
  Russian: ['Кофемолка ручная', 'Чайник эмалированный', 'Нож кухонный', 'Сковорода чугунная с крышкой'],
  Ukrainian: ['Кавомолка ручна', 'Чайник емальований', 'Ніж кухонний, сталь', 'Сковорода чавунна з кришкою'],
  Greek: ['Μύλος του καφέ', 'Τσαγιέρα από χυτοσίδηρο', 'Μαχαίρι κουζίνας', 'Τηγάνι με καπάκι'],
  Turkish: [
    'Kahve değirmeni, paslanmaz çelik',
    'Çaydanlık, döküm demir, iki litre',
    'Mutfak bıçağı ve bileme taşı',
    'Şık bardak takımı, altı kişilik',
    'Ahşap kesme tahtası, büyük boy',
    'Isıya dayanıklı cam sürahi',
    'Yapışmaz tava, kapaklı',
    'Pamuklu mutfak önlüğü, ayarlanabilir',
  ],
  Hungarian: [
    'Kávéőrlő, rozsdamentes acél',
    'Teáskanna öntöttvasból',
    'Konyhakés fűszerekhez',
    'Fa vágódeszka, nagy méretű',
  ],
  Romanian: ['Râșniță de cafea', 'Ceainic din fontă', 'Cuțit de bucătărie', 'Tigaie cu capac, neagră'].map(
    (title) => title.replaceAll('ș', 'ş').replaceAll('ț', 'ţ'),
  ),
  Danish: [
    'Kaffemølle i rustfrit stål',
    'Tekande af støbejern',
    'Køkkenkniv, blød håndtag',
    'Skærebræt af træ',
  ],
  Spanish: ['Molinillo de café', 'Muñeca pequeña de 2 m²', 'Sartén antiadherente', 'Baño de 30 m³'],
  Japanese: ['手挽きコーヒーミル', '鋳鉄のティーポット', '三徳包丁、ステンレス製'],
  Chinese: ['手摇咖啡研磨机', '铸铁茶壶', '不锈钢厨师刀', '木制砧板'],
  'Traditional Chinese': ['手搖咖啡研磨機', '鑄鐵茶壺', '不鏽鋼廚師刀', '木製砧板', '電熱水壺'],
  Korean: ['수동 커피 그라인더', '주철 찻주전자', '주방용 칼, 스테인리스'],
} as const

describe('encoding that nothing declares', () => {
  it.each([
    ['French', 'windows-1252'],
    ['German', 'windows-1252'],
    ['Polish', 'windows-1250'],
    ['Polish', 'iso-8859-2'],
    ['Czech', 'windows-1250'],
    ['Hungarian', 'windows-1250'],
    ['Romanian', 'windows-1250'],
    ['Danish', 'windows-1252'],
    ['Spanish', 'windows-1252'],
    ['French', 'macintosh'],
    ['Russian', 'cp866'],
    ['Traditional Chinese', 'big5'],
    ['Russian', 'windows-1251'],
    ['Russian', 'koi8-r'],
    ['Ukrainian', 'windows-1251'],
    ['Greek', 'windows-1253'],
    ['Turkish', 'windows-1254'],
    ['Japanese', 'shift_jis'],
    ['Japanese', 'euc-jp'],
    ['Chinese', 'gb18030'],
    ['Korean', 'euc-kr'],
  ] as const)('%s in %s - is recognised by its letters', async (language, encoding) => {
    const titles = TITLES[language]
    const bytes = iconv.encode(toFeed(titles), encoding)
    const feed = await readFeedText(bytes)
    expect(feed.products.map(({ title }) => title)).toEqual([...titles])
    expect(feed.isEncodingGuessed).toBe(true)
  })

  it('one word in Shift_JIS, and a sign in a Latin-1 feed - are recognised', async () => {
    for (const [title, encoding] of [
      ['テレビ', 'shift_jis'],
      ['Lampe à suspension, 2 m²', 'windows-1252'],
      ['Çay bardağı', 'windows-1254'],
      ['“Best” ½ price', 'windows-1252'],
    ] as const)
      expect((await readFeedText(iconv.encode(toFeed([title]), encoding))).products).toMatchObject([
        { title },
      ])
  })

  it('long lines, of ASCII or of digits - take linear time', async () => {
    for (const text of [
      `${'x'.repeat(500_000)} été`,
      `é${'1'.repeat(500_000)}a`,
      'é1'.repeat(250_000),
      `${'é'.repeat(500_000)}A`,
    ])
      expect((await readFeedText(Buffer.from(toFeed([text]), 'latin1'))).products).toHaveLength(1)
  })

  it.each(['utf16le', 'utf16-be'])('%s without a mark - is recognised by its zeros', async (encoding) => {
    const feed = await readFeedText(iconv.encode(toFeed(TITLES.Japanese), encoding, { addBOM: false }))
    expect(feed.products.map(({ title }) => title)).toEqual([...TITLES.Japanese])
    expect(feed.isEncodingGuessed).toBe(false)
  })

  it('UTF-8 - is not guessed', async () => {
    for (const titles of Object.values(TITLES)) {
      const { encoding, isEncodingGuessed } = await readFeedText(toFeed(titles), { charset: 'windows-1251' })
      expect({ encoding, isEncodingGuessed }).toEqual({ encoding: 'utf-8', isEncodingGuessed: false })
    }
  })
})
