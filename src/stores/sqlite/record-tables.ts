/** Records of all kinds. Their bodies may be large, so rows are found by number and the primary key is an index of its own. */
export const RECORD_TABLES = `
      create table skep_records (
        scope text not null, kind text not null, id text not null, body text not null,
        revision text not null, expires_at integer, written_at integer not null,
        primary key (scope, kind, id)
      );
      create index skep_records_expiry on skep_records (expires_at) where expires_at is not null;`
