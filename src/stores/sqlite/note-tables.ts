/**
 * How far jobs are, and the lines their handlers wrote. Apart from the jobs, whose rows are hot. `until` is when they go,
 * whatever becomes of their job.
 */
export const NOTE_TABLES = `
      create table skep_notes (
        id text not null, space text not null, token text not null,
        line_n integer not null, progress_n integer not null,
        value real, note text, progress_at integer,
        last integer not null, bytes integer not null, dropped integer not null, until integer not null,
        primary key (id, space)
      ) without rowid;
      create index skep_notes_until on skep_notes (until);

      create table skep_note_lines (
        id text not null, space text not null, place integer not null, start integer not null, at integer not null,
        level integer not null, text text not null, fields text, primary key (id, space, place)
      ) without rowid;`
