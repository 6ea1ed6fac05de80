import { describe, expect, it } from 'vitest'
import { toFeedText } from '../../../src/catalog-service/import/feed-values.ts'

describe('text of a feed', () => {
  it.each([
    ['Tom &amp; Jerry &quot;x&quot; &#39;y&#39; &#x201C;z&#X201d;', 'Tom & Jerry "x" \'y\' “z”'],
    ['Cr&egrave;me br&ucirc;l&eacute;e &euro; 5&nbsp;kg &Eacute;t&eacute;', 'Crème brûlée € 5 kg Été'],
    ['&lt;b&gt;Bold&lt;/b&gt; and <i class="x">thin</i>', 'Bold and thin'],
    ['One<br/>two<p>three</p>four', 'One two three four'],
    ['&amp;gt;', '&gt;'],
    ['<a title="1 > 0" href=\'x>y\'>Link</a> <img alt=">">end', 'Link end'],
    ['A<SCRIPT type="x">if (a < b) alert("</b>")</Script>B', 'A B'],
    ['A<style>b > c {}</style>B<!-- <b>no</b> > -->C', 'A B C'],
    ['A<!-- never closed <b>', 'A'],
    ['<scripture> <stylish>', '<scripture> <stylish>'],
    ['İ<script>x</script>İ', 'İ İ'],
    ['&gt; 5 < 10 > 3 <Pro> <3', '> 5 < 10 > 3 <Pro> <3'],
    ['AT&T R&D &nonsense; &toString; &', 'AT&T R&D &nonsense; &toString; &'],
    ['a&#0;b&#31;c&#55296;d&#x110000;e&#128;', 'a&#0;b&#31;c&#55296;d&#x110000;e&#128;'],
    ['  a \t\n b\u200b  ', 'a b'],
    ['&#10;a&#9;b', 'a b'],
    ['=HYPERLINK("https://evil.example","x")', '=HYPERLINK("https://evil.example","x")'],
    ["+cmd|' /C calc'!A0", "+cmd|' /C calc'!A0"],
    ['StyloÂ®', 'StyloÂ®'],
    ['<script>alert(1)</script>', ''],
  ])('%j - is %j', (text, expected) => {
    expect(toFeedText(text)).toBe(expected)
  })

  it('very long text - is truncated with an ellipsis', () => {
    expect(toFeedText('x'.repeat(100_000))).toBe(`${'x'.repeat(999)}…`)
  })

  it('text after more than 16 kB of markup - is left out', () => {
    const markup = '<b> </b>'.repeat(2 * 1024)
    expect(toFeedText(`${markup.slice(1)}x`)).toBe('b> x')
    expect(toFeedText(`${markup}x`)).toBe('')
  })

  it('text hostile to regular expressions - is read in linear time', () => {
    const texts = [
      '<a '.repeat(50_000),
      '&#'.repeat(50_000),
      `<b ${' '.repeat(100_000)}`,
      '<a "'.repeat(50_000),
      '<!--'.repeat(50_000),
      '<script>'.repeat(30_000),
      '<style '.repeat(30_000),
    ]
    const startedAtMs = performance.now()
    for (const text of texts) toFeedText(text)
    expect(performance.now() - startedAtMs).toBeLessThan(60_000)
  })
})
