"""The cluster on this machine behind `tidelog up`: an embedded ZooKeeper and the services as plain processes."""
