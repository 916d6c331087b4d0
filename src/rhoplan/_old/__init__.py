"""Parts of the former engine that packages still use until they are rebuilt; each module names these packages."""
