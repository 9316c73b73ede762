<?php
echo 'PHP ', PHP_VERSION, ', process ', getmypid(), "\n";
