import { sql, type Kysely } from 'kysely'

/**
 * Which people are known to own their address. People whom an earlier version let in are, unless they signed up by
 * themselves: an invitation, the provider or the setup link brought them. `signed_up`: somebody made the organisation by
 * signing up, so that it is not the installation's own. `account_link.email`: the address that a link was mailed to.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(VERIFIED_PEOPLE).execute(db)
}

const VERIFIED_PEOPLE = `
  alter table person add column email_verified_at timestamptz;
  update person set email_verified_at = created_at where
    exists (select from identity where identity.person_id = person.id)
    or exists (select from invitation where invitation.email = person.email and invitation.accepted_at is not null)
    or exists (select from membership where membership.person_id = person.id
      and membership.organisation_id = (select id from organisation order by id limit 1));
  alter table account_link add column email text;
  create index account_link_email on account_link (email);
  alter table organisation add column signed_up boolean not null default false;
`
