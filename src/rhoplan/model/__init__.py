"""Problems: hidden factors, actions, menus, beliefs, and their validation."""
