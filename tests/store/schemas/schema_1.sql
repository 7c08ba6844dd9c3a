-- Schema 1, as a co-tui of its time made it.
CREATE TABLE "_sqlite_migrations" ("id" INTEGER PRIMARY KEY, "migration_set" TEXT, "name" TEXT, "applied_at" TEXT);
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name" ON "_sqlite_migrations" ("migration_set", "name");
CREATE TABLE "sessions" ("id" TEXT PRIMARY KEY NOT NULL, "title" TEXT NOT NULL, "created" TEXT NOT NULL, "updated" TEXT NOT NULL, "model" TEXT, "policy" TEXT, "cwd" TEXT, "repository" TEXT, "branch" TEXT, "last_seq" INTEGER NOT NULL, "turns" INTEGER NOT NULL, "messages" INTEGER NOT NULL, "compactions" INTEGER NOT NULL, "tokens" INTEGER, "token_limit" INTEGER, "cost" REAL NOT NULL, "usage" TEXT) STRICT;
CREATE INDEX "idx_sessions_updated" ON "sessions" ("updated");
CREATE INDEX "idx_sessions_cwd_updated" ON "sessions" ("cwd", "updated");
CREATE TABLE "events" ("session_id" TEXT NOT NULL REFERENCES "sessions"("id"), "seq" INTEGER NOT NULL, "type" TEXT NOT NULL, "timestamp" TEXT NOT NULL, "version" INTEGER NOT NULL, "payload" TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX "idx_events_session_id_seq" ON "events" ("session_id", "seq");
CREATE TABLE "drafts" ("session_id" TEXT REFERENCES "sessions"("id"), "slot" TEXT, "body" TEXT NOT NULL, PRIMARY KEY ("session_id", "slot")) STRICT;
CREATE TABLE "message_texts" ("id" INTEGER PRIMARY KEY, "session_id" TEXT NOT NULL, "seq" INTEGER NOT NULL, "role" TEXT NOT NULL, "text" TEXT NOT NULL) STRICT;
CREATE INDEX "idx_message_texts_session_id_seq" ON "message_texts" ("session_id", "seq");
CREATE VIRTUAL TABLE "message_texts_fts" USING FTS5 ("text", tokenize='unicode61 remove_diacritics 2', content="message_texts");
CREATE TRIGGER "message_texts_ai" AFTER INSERT ON "message_texts" BEGIN INSERT INTO "message_texts_fts" (rowid, "text") VALUES (new.rowid, new."text"); END;
CREATE TRIGGER "message_texts_ad" AFTER DELETE ON "message_texts" BEGIN INSERT INTO "message_texts_fts" ("message_texts_fts", rowid, "text") VALUES('delete', old.rowid, old."text"); END;
CREATE TRIGGER "message_texts_au" AFTER UPDATE ON "message_texts" BEGIN INSERT INTO "message_texts_fts" ("message_texts_fts", rowid, "text") VALUES('delete', old.rowid, old."text"); INSERT INTO "message_texts_fts" (rowid, "text") VALUES (new.rowid, new."text"); END;
INSERT INTO message_texts_fts(message_texts_fts, rank) VALUES('automerge', 8);
INSERT INTO _sqlite_migrations(migration_set, name, applied_at) VALUES('co-tui', '001_sessions_and_events', '2026-01-01');
PRAGMA user_version=1;
