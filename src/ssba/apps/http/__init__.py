"""The service over HTTP: `ssba serve`."""
