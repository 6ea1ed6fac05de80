import type { Locale } from './words.ts'

/** Spanish, without a form of address; for Spain and America alike. */
export const locale: Locale = {
  dir: 'ltr',
  words: {
    boxHeading: 'Dónde comprar',
    boxName: 'Dónde comprar {title}',
    gridHeading: 'Ofertas',
    toShop: 'Ir a la tienda',
    linkWithPrice: 'comprar en {merchant} por {price}',
    linkWithoutPrice: 'ver el precio en {merchant}',
    seePrice: 'Ver precio en la tienda',
    priceNow: 'ahora',
    formerPrice: 'Antes en esta tienda',
    bestPrice: 'Mejor precio',
    columns: { shop: 'Tienda', availability: 'Disponibilidad', price: 'Precio', link: 'Enlace' },
    availability: {
      in_stock: 'En stock',
      out_of_stock: 'Sin stock',
      preorder: 'En preventa',
      backorder: 'En reposición',
      discontinued: 'Fuera de catálogo',
      other: 'Disponibilidad: ver en la tienda',
    },
    moreShops: {
      one: '{count} tienda más',
      many: '{count} de tiendas más',
      other: '{count} tiendas más',
    },
    atMerchant: 'en {merchant}',
    pricesChecked: 'Precios comprobados el {time}.',
    shippingNotIncluded: 'Envío no incluido',
    coverage: 'No se comparan todas las tiendas.',
    boxOrder: 'Primero en stock, después por precio',
    gridOrder: {
      discount: 'Mayor descuento primero',
      saving: 'Mayor ahorro primero',
      price: 'Precio más bajo primero',
      newest: 'Ofertas más recientes primero',
    },
    disclosure:
      'Publicidad: podemos recibir una comisión por las compras realizadas a través de estos enlaces.',
    pages: 'Páginas de ofertas',
    previousPage: 'Página anterior',
    nextPage: 'Página siguiente',
    previousDeals: 'Ofertas anteriores',
    nextDeals: 'Ofertas siguientes',
  },
}
