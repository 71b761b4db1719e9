-- When each blob was last put again, or named by an entry that was appended; and what goes through the families of a tenant, in whatever order they are renamed.

ALTER TABLE blobs ADD COLUMN used_at bigint NOT NULL DEFAULT 0;
CREATE INDEX tape_names_root ON tape_names (tenant, root_id);
