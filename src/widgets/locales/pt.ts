import type { Locale } from './words.ts'

/** Portuguese, without a form of address; for Portugal and Brazil alike. */
export const locale: Locale = {
  dir: 'ltr',
  words: {
    boxHeading: 'Onde comprar',
    boxName: 'Onde comprar {title}',
    gridHeading: 'Ofertas',
    toShop: 'Ir para a loja',
    linkWithPrice: 'comprar na loja {merchant} por {price}',
    linkWithoutPrice: 'ver o preço na loja {merchant}',
    seePrice: 'Ver preço na loja',
    priceNow: 'agora',
    formerPrice: 'Antes nesta loja',
    bestPrice: 'Melhor preço',
    columns: { shop: 'Loja', availability: 'Disponibilidade', price: 'Preço', link: 'Link' },
    availability: {
      in_stock: 'Disponível',
      out_of_stock: 'Indisponível',
      preorder: 'Em pré-venda',
      backorder: 'Em reposição',
      discontinued: 'Descontinuado',
      other: 'Disponibilidade: ver na loja',
    },
    moreShops: {
      one: 'Mais {count} loja',
      many: 'Mais {count} de lojas',
      other: 'Mais {count} lojas',
    },
    atMerchant: 'na loja {merchant}',
    pricesChecked: 'Preços verificados em {time}.',
    shippingNotIncluded: 'Custos de envio não incluídos',
    coverage: 'A comparação não inclui todas as lojas.',
    boxOrder: 'Primeiro os disponíveis, depois por preço',
    gridOrder: {
      discount: 'Maior desconto primeiro',
      saving: 'Maior redução de preço primeiro',
      price: 'Preço mais baixo primeiro',
      newest: 'Ofertas mais recentes primeiro',
    },
    disclosure: 'Publicidade: podemos receber uma comissão pelas compras feitas através destes links.',
    pages: 'Páginas de ofertas',
    previousPage: 'Página anterior',
    nextPage: 'Página seguinte',
    previousDeals: 'Ofertas anteriores',
    nextDeals: 'Ofertas seguintes',
  },
}
