/**
 * What answers requests, as texts that are always the same. Each gives one row with the state of the catalog that it saw, and
 * the rest as JSON: one statement sees one state, whatever is committed beside it.
 */

const STATE = `(select value from meta where key = 'state') as state`

/** `$1`: the part of a key that is no secret. */
export const SELECT_KEYS = `
  select ${STATE}, (
    select coalesce(json_agg(json_build_array(k.id, k.hash, o.id, o.daily_limit)), '[]'::json)
    from api_keys k join organizations o on o.id = k.organization_id
    where k.prefix = $1::text and k.revoked_at_ms is null) as found`

/** The oldest organization, as a list of at most one. */
export const SELECT_FIRST = `
  select ${STATE}, (
    select coalesce(json_agg(json_build_array(f.id, f.daily_limit)), '[]'::json)
    from (select id, daily_limit from organizations order by created_at_ms, id limit 1) f) as found`

/** `$1`: the channel, `$2`: its organization. The columns are those of `ViewRow`. */
export const SELECT_VIEW = `
  select ${STATE},
    (select count(*) from channels where id = $1::text and organization_id = $2::text) as channels, (
    select coalesce(json_agg(json_build_array(n.id, n.name, nc.id, n.link_template, nc.reference, m.id, m.name,
      nm.reference)), '[]'::json)
    from network_channels nc
    join networks n on n.id = nc.network_id
    join approvals a on a.network_channel_id = nc.id and a.revoked_at_ms is null
    join merchants m on m.id = a.merchant_id
    left join network_merchants nm on nm.network_id = nc.network_id and nm.merchant_id = a.merchant_id
    where nc.channel_id = $1::text) as found`

/** In the order of their key, so that the same offers make the same answer. */
const OFFERS = `(
  select json_agg(json_build_array(o.network_id, o.merchant_id, o.network_channel_id, o.price, o.old_price, o.currency,
    o.availability, o.url)
    order by o.network_id, o.merchant_id, o.network_channel_id, o.currency, o.variant)
  from offers o where o.gtin = p.gtin)`

/** `$1`: a GTIN. */
export const SELECT_ONE = `
  select ${STATE}, (
    select json_build_array(p.gtin, p.title, p.brand, p.images, ${OFFERS}) from products p where p.gtin = $1::text
  ) as found`

const LIST = `coalesce(json_agg(json_build_array(p.gtin, p.title, p.brand, p.images, p.offers) order by p.gtin), '[]'::json)`
const PRODUCT = `p.gtin, p.title, p.brand, p.images, ${OFFERS} as offers`

/** `$2` products after the GTIN `$1`. */
export const SELECT_AFTER = `
  select ${STATE}, (select ${LIST} from (
    select ${PRODUCT} from products p where p.gtin > $1::text order by p.gtin limit $2::bigint) p) as found`

/** Products of the GTINs `$1`. */
export const SELECT_THESE = `
  select ${STATE}, (select ${LIST} from (
    select ${PRODUCT} from products p where p.gtin = any ($1::text[])) p) as found`

/**
 * The next `$6` GTINs of each shop, as a list for each, in the order of `$1`; the others are merchants, networks, network
 * channels, and the GTINs after which to begin. `distinct`, because a shop may offer a product several times.
 */
export const SELECT_STRANDS = `
  select ${STATE}, (
    select json_agg(t.gtins order by t.place) from (
      select s.place, (
        select coalesce(json_agg(g.gtin order by g.gtin), '[]'::json) from (
          select distinct o.gtin from offers o
          where o.merchant_id = s.merchant_id and o.network_id = s.network_id
            and o.network_channel_id = s.network_channel_id and o.gtin > s.after_gtin
          order by o.gtin limit $6::bigint) g) as gtins
      from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
        as s (place, merchant_id, network_id, network_channel_id, after_gtin)) t) as found`

/**
 * Counts `$3` requests of the organization `$1` on the day `$2`, if they are within the limit `$4` and the catalog is in the
 * state `$5` still. One statement, so that other processes count before or after it.
 */
export const COUNT_REQUESTS = `
  with counted as (
    insert into usage as u (organization_id, day, requests)
    select $1::text, $2::text, $3::bigint from meta
    where key = 'state' and value = $5::text and $3::bigint <= $4::bigint
    on conflict (organization_id, day) do update set requests = u.requests + excluded.requests
    where u.requests + excluded.requests <= $4::bigint
    returning requests)
  select ${STATE}, (select count(*) from counted) as found`

/** Notes that the key `$1` was used at `$2`. */
export const NOTE_KEY = `
  insert into key_uses as k (key_id, used_at_ms) values ($1::text, $2::bigint)
  on conflict (key_id) do update set used_at_ms = greatest(k.used_at_ms, excluded.used_at_ms)`
